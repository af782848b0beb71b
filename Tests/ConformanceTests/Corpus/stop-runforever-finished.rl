topic stop
title The endless run returns when the mode becomes empty
trace callouts
timer T delay=20
add T default
runforever
runforever
--- golden
runforever
timer T mode=default
ranforever
runforever
ranforever
end
