topic timer
title A timer belongs to one loop: adding it to a second loop is ignored
slow 2
timer T delay=120
source0 K
thread A:
add T default
spawn B
join B
run default 1 no
thread B:
add T default
contains T default; contains T default loop=A
add K default
run default 0.03 no
--- golden
B: contains T default = no
B: contains T default = yes
B: run default
B: ran default TIMEDOUT
run default
timer T mode=default
ran default FINISHED
end
