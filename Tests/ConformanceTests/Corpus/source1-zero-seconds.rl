topic source1
title A poll serves one ready port
trace callouts
source1 P
source1 Q
add P default; add Q default; write P; write Q
run default 0 no
run default 0 no
run default 0 no
--- golden
run default
source1 P mode=default
ran default TIMEDOUT
run default
source1 Q mode=default
ran default TIMEDOUT
run default
ran default TIMEDOUT
end
