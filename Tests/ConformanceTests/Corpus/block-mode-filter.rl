topic block
title Only the blocks of the running mode run; the others stay, in order
trace callouts
block B1
block B2
block B3
block B4
source0 K
add K m1; add K m2
perform B1 m1; perform B2 m2; perform B3 m1; perform B4 m2
run m1 0 no
run m2 0 no
--- golden
run m1
block B1 mode=m1
block B3 mode=m1
ran m1 TIMEDOUT
run m2
block B2 mode=m2
block B4 mode=m2
ran m2 TIMEDOUT
end
