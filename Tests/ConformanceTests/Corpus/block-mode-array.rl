topic block
title A block with several modes runs once, in the first of them that runs
trace callouts
block B
source0 K
add K m1; add K m2; add K m3
perform B m2,m3
run m1 0 no
run m3 0 no
run m2 0 no
--- golden
run m1
ran m1 TIMEDOUT
run m3
block B mode=m3
ran m3 TIMEDOUT
run m2
ran m2 TIMEDOUT
end
