topic source1
title Two eight-byte messages are in the pipe when it is noticed: only one callback
flags linux-bug
trace callouts
source1 P port=pipe
add P default; write P 2
run default 0.05 no
pending P
run default 0.05 no
--- golden
run default
source1 P mode=default
ran default TIMEDOUT
pending P = yes
run default
ran default TIMEDOUT
end
--- right
run default
source1 P mode=default
source1 P mode=default
ran default TIMEDOUT
pending P = no
run default
ran default TIMEDOUT
end
