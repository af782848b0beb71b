topic thread
title isWaiting as seen by another thread
slow 2
source0 K
source0 S
on S: busy 100
thread A:
spawn B
sleep 50
waiting loop=B; mode loop=B
signal S; wake loop=B
sleep 50
waiting loop=B; mode loop=B
sleep 100
waiting loop=B
stop loop=B
join B
thread B:
add K m1; add S m1
run m1 2 no
--- golden
B: run m1
waiting = yes
mode = m1
B: source0 S mode=m1
waiting = no
mode = m1
waiting = yes
B: ran m1 STOPPED
end
