topic empty
title A pending block for the common modes counts in a common mode only
block B
perform B common
run m1 1 no
run default 0 no
run default 0 no
--- golden
run m1
ran m1 FINISHED
run default
block B mode=default
ran default TIMEDOUT
run default
ran default FINISHED
end
