topic thread
title Removing the last source from outside, then waking, finishes the run
slow 2
source0 S
thread A:
spawn B
sleep 30
remove S default loop=B
wake loop=B
join B
thread B:
add S default
run default 2 no
--- golden
B: run default
B: ran default FINISHED
end
