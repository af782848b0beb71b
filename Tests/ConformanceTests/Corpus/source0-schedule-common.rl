topic source0
title schedule is called with the real mode names for a common source
source0 S sched
addcommon m1
add S common
remove S common
--- golden
schedule S mode=default loop=A
schedule S mode=m1 loop=A
cancel S mode=default loop=A
cancel S mode=m1 loop=A
end
