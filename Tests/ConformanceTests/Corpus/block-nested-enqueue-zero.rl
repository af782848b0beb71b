topic block
title In a poll the second drain of the pass runs a block queued by the first
trace callouts
block B1
block B2
block B3
source0 K
on B1: perform B2 default
on B2: perform B3 default
add K default; perform B1 default
run default 0 no
run default 0 no
--- golden
run default
block B1 mode=default
block B2 mode=default
ran default TIMEDOUT
run default
block B3 mode=default
ran default TIMEDOUT
end
