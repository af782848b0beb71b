topic block
title Each loop has its own queue
slow 2
block B
source0 K
thread A:
add K default
perform B default
spawn L
join L
run default 0 no
thread L:
perform B default
run default 0 no
--- golden
L: run default
L: block B mode=default
L: ran default TIMEDOUT
run default
block B mode=default
ran default TIMEDOUT
end
