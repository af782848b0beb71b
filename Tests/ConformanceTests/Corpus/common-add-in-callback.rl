topic common
title Common membership changed inside a callback
trace callouts
timer T delay=30
source0 S sched
source0 K
on T: add S common; addcommon m1; signal S
add K default; add T default
run default 0.07 no
contains S m1
signal S
run m1 0.03 no
--- golden
run default
timer T mode=default
schedule S mode=default loop=A
schedule S mode=m1 loop=A
source0 S mode=default
ran default TIMEDOUT
contains S m1 = yes
run m1
source0 S mode=m1
ran m1 TIMEDOUT
end
