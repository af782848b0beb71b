topic source1
title returnAfterHandled serves one port per run
trace callouts
source1 P
source1 Q
add P default; add Q default
write Q; write P
run default 1 yes
run default 1 yes
run default 0.03 yes
--- golden
run default
source1 Q mode=default
ran default HANDLED
run default
source1 P mode=default
ran default HANDLED
run default
ran default TIMEDOUT
end
