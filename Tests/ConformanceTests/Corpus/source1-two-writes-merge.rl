topic source1
title Two writes to an eventfd before it is noticed make one callback
trace callouts
source1 P
add P default; write P; write P
run default 0.05 no
--- golden
run default
source1 P mode=default
ran default TIMEDOUT
end
