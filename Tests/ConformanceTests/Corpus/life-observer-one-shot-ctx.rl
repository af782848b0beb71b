topic life
title A non-repeating observer releases its context after its call
observer O entry repeats=no ctx
source0 S
add O default; add S default
run default 0 no
note ran
drop O
--- golden
retain O
run default
observer O entry mode=default
release O
ran default TIMEDOUT
note ran
end
