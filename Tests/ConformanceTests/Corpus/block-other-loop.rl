topic block
title A block for another thread's loop
slow 2
source0 K
block B
thread A:
spawn B1
sleep 60
perform B default loop=B1; wake loop=B1
join B1
thread B1:
add K default
run default 0.15 no
--- golden
B1: run default
B1: block B mode=default
B1: ran default TIMEDOUT
end
