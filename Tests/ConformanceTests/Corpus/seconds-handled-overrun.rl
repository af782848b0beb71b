topic seconds
title Handled source that overran the limit
trace callouts
source0 S
on S: busy 60
add S default; signal S
run default 0.03 yes
signal S
run default 0.03 no
--- golden
run default
source0 S mode=default
ran default HANDLED
run default
source0 S mode=default
ran default TIMEDOUT
end
