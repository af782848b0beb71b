topic thread
title A source0 in two loops, one of which ends: the other goes on
slow 2
source0 S sched
thread A:
add S default
spawn B
join B
signal S
run default 1 yes
thread B:
add S default
run default 0.03 no
--- golden
B: schedule S mode=default loop=B
schedule S mode=default loop=A
B: run default
B: ran default TIMEDOUT
B: cancel S mode=default loop=B
run default
source0 S mode=default
ran default HANDLED
end
