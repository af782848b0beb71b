topic timer
title A poll should serve the ready port; a stale timer expiry takes its place
flags linux-bug
trace callouts
timer T delay=20
source1 P
add T default; add P default
remove T default
sleep 60
write P
run default 0 yes
run default 0 yes
--- golden
run default
ran default TIMEDOUT
run default
source1 P mode=default
ran default HANDLED
end
--- right
run default
source1 P mode=default
ran default HANDLED
run default
ran default TIMEDOUT
end
