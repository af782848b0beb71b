topic pattern
title Running every mode in turn for a millisecond keeps all of them served
source0 S1
source0 S2
source0 S3
timer T delay=20
add S1 m1; add S2 m2; add S3 default; add T m2
signal S1; signal S2; signal S3
sleep 40
repeat 2: run default 0.001 no; run m1 0.001 no; run m2 0.001 no
--- golden
run default
source0 S3 mode=default
ran default TIMEDOUT
run m1
source0 S1 mode=m1
ran m1 TIMEDOUT
run m2
source0 S2 mode=m2
timer T mode=m2
ran m2 TIMEDOUT
run default
ran default TIMEDOUT
run m1
ran m1 TIMEDOUT
run m2
ran m2 TIMEDOUT
end
