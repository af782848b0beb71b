topic stop
title stop of another thread's loop
slow 2
source0 K
thread A:
spawn B
sleep 60
stop loop=B
join B
thread B:
add K default
run default 2 no
--- golden
B: run default
B: ran default STOPPED
end
