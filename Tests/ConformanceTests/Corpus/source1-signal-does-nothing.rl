topic source1
title Signalling a port source has no effect
trace callouts
source1 P
add P default; signal P
run default 0.03 no
--- golden
run default
ran default TIMEDOUT
end
