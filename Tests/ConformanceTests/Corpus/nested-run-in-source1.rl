topic nested
title A nested run in a port callback serves other ports
trace callouts
source1 P
source1 Q
on P: write Q; run default 0.03 no; note back
add P default; add Q default; write P
run default 0.03 no
--- golden
run default
source1 P mode=default
run default
source1 Q mode=default
ran default TIMEDOUT
note back
ran default TIMEDOUT
end
