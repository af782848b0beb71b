topic thread
title Invalidating a source of another thread's loop calls cancel in the invalidating thread
slow 2
source0 S sched
thread A:
spawn B
sleep 30
invalidate S
wake loop=B
join B
thread B:
add S default; add S m1
run default 2 no
--- golden
B: schedule S mode=default loop=B
B: schedule S mode=m1 loop=B
B: run default
cancel S mode=default loop=B
cancel S mode=m1 loop=B
B: ran default FINISHED
end
