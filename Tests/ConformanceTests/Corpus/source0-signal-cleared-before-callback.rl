topic source0
title The signal is cleared before the callback runs
source0 S
on S: signalled S
add S default; signal S
run default 0.03 yes
--- golden
run default
source0 S mode=default
signalled S = no
ran default HANDLED
end
