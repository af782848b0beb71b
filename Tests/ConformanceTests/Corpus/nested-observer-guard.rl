topic nested
title The outer observer that runs the loop is silent in the inner run; others are not
observer O before-waiting order=1
observer Q before-waiting order=2
source0 S
on O #1: run default 0.03 no
add O default; add Q default; add S default
run default 0.08 no
--- golden
run default
observer O before-waiting mode=default
run default
observer Q before-waiting mode=default
ran default TIMEDOUT
observer Q before-waiting mode=default
ran default TIMEDOUT
end
