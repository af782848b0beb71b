topic thread
title Common items of all kinds at thread exit
slow 2
observer O entry ctx
timer T delay=5000 ctx
source0 S sched ctx
thread A:
spawn B
join B
note joined
valid O; valid T; valid S
thread B:
addcommon m1
add O common; add T common; add S common
note leaving
--- golden
retain O
retain T
retain S
B: schedule S mode=default loop=B
B: schedule S mode=m1 loop=B
B: note leaving
B: cancel S mode=default loop=B
B: cancel S mode=m1 loop=B
note joined
valid O = yes
valid T = yes
valid S = yes
end
