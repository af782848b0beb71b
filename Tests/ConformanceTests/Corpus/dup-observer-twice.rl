topic dup
title An observer added twice to a mode is called once
observer O entry|exit
source0 S
add O default; add O default; add S default
run default 0.02 no
remove O default; contains O default
run default 0.02 no
--- golden
run default
observer O entry mode=default
observer O exit mode=default
ran default TIMEDOUT
contains O default = no
run default
ran default TIMEDOUT
end
