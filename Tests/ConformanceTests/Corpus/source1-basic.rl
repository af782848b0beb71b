topic source1
title Port callback
trace callouts
source1 P
add P default; write P
run default 0.03 no
--- golden
run default
source1 P mode=default
ran default TIMEDOUT
end
