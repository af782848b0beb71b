topic mutate
title The entry observer replaces the only source
observer O entry
source0 S1
source0 S2
on O: remove S1 default; add S2 default; signal S2
add O default; add S1 default
run default 1 yes
--- golden
run default
observer O entry mode=default
source0 S2 mode=default
ran default HANDLED
end
