topic dup
title A source added twice to a mode
source0 S sched
add S default; add S default; signal S
run default 0.02 no
remove S default
contains S default
run default 1 no
--- golden
schedule S mode=default loop=A
run default
source0 S mode=default
ran default TIMEDOUT
cancel S mode=default loop=A
contains S default = no
run default
ran default FINISHED
end
