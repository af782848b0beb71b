topic empty
title A custom mode of the main loop becomes never-empty once it is common and exists
thread main:
source0 S
add S m1; remove S m1
run m1 0.05 no
addcommon m1
run m1 0.05 no
--- golden
run m1
ran m1 FINISHED
run m1
ran m1 TIMEDOUT
end
