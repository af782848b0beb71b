topic block
title A block is released right after it ran
block B1 ctx
block B2 ctx
source0 K
add K default; perform B1 default; perform B2 m1
run default 0 no
run m1 0 no
--- golden
run default
block B1 mode=default
release B1
ran default TIMEDOUT
run m1
block B2 mode=m1
release B2
ran m1 TIMEDOUT
end
