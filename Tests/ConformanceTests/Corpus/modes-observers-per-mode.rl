topic modes
title Observers only see the run of their mode
observer O1 entry|exit
observer O2 entry|exit
source0 S
add O1 m1; add O2 m2; add S m1; add S m2
run m1 0.02 no
run m2 0.02 no
--- golden
run m1
observer O1 entry mode=m1
observer O1 exit mode=m1
ran m1 TIMEDOUT
run m2
observer O2 entry mode=m2
observer O2 exit mode=m2
ran m2 TIMEDOUT
end
