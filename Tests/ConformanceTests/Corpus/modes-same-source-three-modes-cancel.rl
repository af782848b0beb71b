topic modes
title schedule and cancel for each mode of a source
source0 S sched
add S m1; add S m2; add S default
remove S m2
add S m2
invalidate S
--- golden
schedule S mode=default loop=A
schedule S mode=m1 loop=A
schedule S mode=m2 loop=A
cancel S mode=m2 loop=A
schedule S mode=m2 loop=A
cancel S mode=default loop=A
cancel S mode=m1 loop=A
cancel S mode=m2 loop=A
end
