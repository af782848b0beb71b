topic modes
title A source0 signalled once is performed once, in the first mode that runs
trace callouts
source0 S
add S m1; add S m2; signal S
run m1 0.03 no
run m2 0.03 no
--- golden
run m1
source0 S mode=m1
ran m1 TIMEDOUT
run m2
ran m2 TIMEDOUT
end
