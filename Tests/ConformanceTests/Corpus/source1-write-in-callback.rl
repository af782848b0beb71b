topic source1
title Writing to the port in its own callback calls it again
trace callouts
source1 P
on P #1: write P
add P default; write P
run default 0.05 no
--- golden
run default
source1 P mode=default
source1 P mode=default
ran default TIMEDOUT
end
