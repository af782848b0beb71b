topic thread
title All modes of another loop
slow 2
source0 K
thread A:
spawn B
sleep 30
modes loop=B; modes
stop loop=B
join B
thread B:
add K m1; add K m2
run m1 2 no
--- golden
B: run m1
modes = default,m1,m2
modes = default
B: ran m1 STOPPED
end
