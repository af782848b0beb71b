topic thread
title At thread exit common items are cancelled in each common mode
slow 2
source0 S sched ctx
thread A:
spawn B
join B
valid S
thread B:
addcommon m1; addcommon m2
add S common
drop S
note leaving
create S
--- golden
retain S
B: schedule S mode=default loop=B
B: schedule S mode=m1 loop=B
B: schedule S mode=m2 loop=B
B: note leaving
B: retain S
B: cancel S mode=default loop=B
B: cancel S mode=m1 loop=B
B: cancel S mode=m2 loop=B
B: release S
valid S = yes
end
