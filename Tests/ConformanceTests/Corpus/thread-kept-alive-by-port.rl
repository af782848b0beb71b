topic thread
title A port without traffic keeps a thread alive until it is stopped
slow 2
source1 P
block W
thread A:
spawn B
sleep 40
perform W default loop=B; wake loop=B
sleep 40
stop loop=B
join B
note joined
thread B:
add P default
runforever
note leaving
--- golden
B: runforever
B: block W mode=default
B: ranforever
B: note leaving
note joined
end
