topic modes
title Modes are created by adding items or blocks, and are never deleted
source0 S
timer T delay=100
observer O all
block B
modes
add S m1; modes
add T m2; modes
add O m3; modes
perform B m4; modes
remove S m1; remove T m2; remove O m3
modes
run m5 1 no
remove S m6; modes
contains S m7; nextfire m8; modes
--- golden
modes = default
modes = default,m1
modes = default,m1,m2
modes = default,m1,m2,m3
modes = default,m1,m2,m3,m4
modes = default,m1,m2,m3,m4
run m5
ran m5 FINISHED
modes = default,m1,m2,m3,m4
contains S m7 = no
nextfire m8 = none
modes = default,m1,m2,m3,m4
end
