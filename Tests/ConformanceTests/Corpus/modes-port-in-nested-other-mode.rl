topic modes
title A port in both the outer and the nested mode is served by the nested one
trace callouts
timer T delay=20
source1 P
on T: write P; run m1 0.04 no; note back
add T default; add P default; add P m1
run default 0.1 no
--- golden
run default
timer T mode=default
run m1
source1 P mode=m1
ran m1 TIMEDOUT
note back
ran default TIMEDOUT
end
