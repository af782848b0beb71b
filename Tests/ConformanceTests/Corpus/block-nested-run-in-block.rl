topic block
title A block that runs the loop: the rest of the detached queue waits for the outer drain, newly queued blocks do not
trace callouts
block B1
block B2
block B3
source0 K
on B1: perform B3 default; run default 0 no
add K default; perform B1 default; perform B2 default
run default 0 no
--- golden
run default
block B1 mode=default
run default
block B3 mode=default
ran default TIMEDOUT
block B2 mode=default
ran default TIMEDOUT
end
