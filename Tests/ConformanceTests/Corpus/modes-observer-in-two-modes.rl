topic modes
title One observer in two modes
observer O entry|exit
source0 S
add O m1; add O m2; add S m1; add S m2
run m1 0.02 no
run m2 0.02 no
remove O m1
run m1 0.02 no
run m2 0.02 no
--- golden
run m1
observer O entry mode=m1
observer O exit mode=m1
ran m1 TIMEDOUT
run m2
observer O entry mode=m2
observer O exit mode=m2
ran m2 TIMEDOUT
run m1
ran m1 TIMEDOUT
run m2
observer O entry mode=m2
observer O exit mode=m2
ran m2 TIMEDOUT
end
