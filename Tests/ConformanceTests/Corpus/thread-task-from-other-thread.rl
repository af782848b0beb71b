topic thread
title Handing tasks to a resident thread: source0 and blocks
slow 2
source1 P
source0 S
block W1
block W2
thread A:
spawn B
sleep 30
signal S; wake loop=B
sleep 40
perform W1 default loop=B; perform W2 default loop=B; wake loop=B
sleep 40
stop loop=B
join B
thread B:
add P default; add S default
runforever
--- golden
B: runforever
B: source0 S mode=default
B: block W1 mode=default
B: block W2 mode=default
B: ranforever
end
