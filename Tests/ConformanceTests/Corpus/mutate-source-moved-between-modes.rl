topic mutate
title A signalled source moved to another mode
source0 S sched
source0 K
add S m1; add K m1; add K m2; signal S
remove S m1; add S m2
run m1 0.02 no
run m2 0.02 no
--- golden
schedule S mode=m1 loop=A
cancel S mode=m1 loop=A
schedule S mode=m2 loop=A
run m1
ran m1 TIMEDOUT
run m2
source0 S mode=m2
ran m2 TIMEDOUT
end
