topic life
title The mode keeps the observer alive
observer O entry ctx
source0 S
add O default; add S default; drop O
note dropped
run default 0 no
--- golden
retain O
note dropped
run default
observer O entry mode=default
ran default TIMEDOUT
end
