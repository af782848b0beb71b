topic block
title Blocks run in the order of queueing
trace callouts
block B1
block B2
block B3
source0 K
add K default
perform B1 default; perform B2 default; perform B3 default
run default 0 no
--- golden
run default
block B1 mode=default
block B2 mode=default
block B3 mode=default
ran default TIMEDOUT
end
